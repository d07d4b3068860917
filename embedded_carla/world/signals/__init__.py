"""Traffic lights and signs, and how they and the road affect vehicles."""
