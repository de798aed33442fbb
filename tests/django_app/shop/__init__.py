"""An app of a project that uses Tickwise."""
