"""What the site has besides the pages of docs/: pages made from code and results when it is built, and checks."""
