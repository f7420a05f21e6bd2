// Gives an object to the archive of a module that has no source of its own yet.
