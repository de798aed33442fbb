-- rows: read runs by their ids.

return rows(args.ids)
