"""From a `Scene` to where its road users will be; tracks that cannot be are left out."""
