"""Programs for those who build Tickwise."""
