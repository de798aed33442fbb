"""The site of docs/, and its pictures."""
