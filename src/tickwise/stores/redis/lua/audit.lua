-- audit: add entries to the audit log, numbered in order.

for _, entry in ipairs(args.entries) do
  local id = call('INCR', P .. ':audit_number')
  call('HSET', P .. ':entries', id, whole(now) .. ' ' .. entry.text)
  call('ZADD', P .. ':audit', id, id)
  call('ZADD', P .. ':audit_of:' .. entry.subject, id, id)
end
return '{}'
