-- info: what the server that has the store's keys says of itself, its memory and its persistence.

return cjson.encode(table.concat({ call('INFO', 'server'), call('INFO', 'memory'), call('INFO', 'persistence') }, '\n'))
