"""Object detection in camera pictures: road users, traffic lights and signs by YOLO26, its training and evaluation."""
