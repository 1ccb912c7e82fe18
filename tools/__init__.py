"""Programs for the development of this project. They are not installed with it."""
