"""What all packages of the stack share: data types, frames, errors and strict configuration; imports none of them."""
