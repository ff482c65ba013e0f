"""One module a command: what can be typed, what is refused at once, and whom it calls. Importing one is quick."""
