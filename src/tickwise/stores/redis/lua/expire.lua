-- expire: end runs that waited too long (S47), go on with removed jobs, and name the runs that are given up.

promote()
local waited = call('ZRANGE', P .. ':expiring', '-inf', now, 'BYSCORE', 'LIMIT', 0, 500)
for _, id in ipairs(waited) do
  local run = fields_of(run_key(id))
  end_run(id, run, { state = 'expired' })
end
local dropping = call('HGETALL', P .. ':dropping')
if dropping[1] then
  drop_backlog(dropping[1], tonumber(dropping[2]))
end
for _, id in ipairs(call('ZRANGE', P .. ':alive', '-inf', now - 86400000000, 'BYSCORE', 'LIMIT', 0, 100)) do
  local serves = call('HGET', P .. ':node:' .. id, 'serves')
  call('ZREM', P .. ':workers', id .. ' ' .. (serves or ''))
  call('ZREM', P .. ':alive', id)
  call('ZREM', P .. ':nodes', id)
  call('DEL', P .. ':node:' .. id)
end
local lapsed = call('ZRANGE', P .. ':leases', '-inf', '(' .. whole(now), 'BYSCORE', 'LIMIT', 0, 500)
return '{"now":' .. whole(now) .. ',"waited":' .. #waited .. ',"lapsed":' .. rows(lapsed) .. '}'
