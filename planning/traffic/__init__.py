"""Other road users: which of them the ego follows, waits for or lets in, and where it waits."""
