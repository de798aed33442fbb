-- counts: numbers of what is live, and of runs that ended lately.

local finished = {}
for _, state in ipairs(args.states) do
  finished[#finished + 1] = '"' .. state .. '":' .. call('ZCOUNT', P .. ':finished:' .. state, now - args.lately, '+inf')
end
local oldest = call('ZRANGE', P .. ':queued', '-inf', now, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
local overdue = call('ZCOUNT', P .. ':due', '-inf', '(' .. second) + call('ZCOUNT', P .. ':due_local', '-inf', '(' .. second)
return '{"jobs":' .. call('ZCARD', P .. ':jobs') .. ',"schedules":' .. call('ZCARD', P .. ':schedules')
  .. ',"paused":' .. call('SCARD', P .. ':paused') .. ',"running":' .. call('ZCARD', P .. ':leases')
  .. ',"overdue":' .. overdue .. ',"nodes":' .. call('ZCOUNT', P .. ':alive', '(' .. whole(now), '+inf')
  .. ',"oldest":' .. (oldest[2] and '"' .. whole(tonumber(oldest[2])) .. '"' or 'null')
  .. ',"finished":{' .. table.concat(finished, ',') .. '},"waiting":' .. cjson.encode(fields_of(P .. ':waiting'))
  .. ',"held":' .. cjson.encode(call('HVALS', P .. ':held_jobs')) .. '}'
