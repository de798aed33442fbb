"""Every file of deploy/ is parsed, and what it starts is started where that can be done here."""
