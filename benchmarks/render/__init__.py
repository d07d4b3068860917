"""Speed of the embedded server's renderer: alone, through the real wheel, and on the views of a drive."""
