// Gives an object to the archive of a room that has no source of its own yet.
