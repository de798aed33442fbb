-- pauses: read the pauses of everything: those that have ended, in order, and the open one.

return '{"ended":' .. list_of(call('LRANGE', P .. ':pauses', 0, -1)) .. ',"open":' .. (call('GET', P .. ':pause') or 'null') .. '}'
