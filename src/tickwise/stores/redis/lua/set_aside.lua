-- set_aside: put off a job whose plan could not be made or written, and record why on each of its schedules (S20).

local key = job_key(args.name)
for schedule in string.gmatch(call('HGET', key, 'names') or '', '%S+') do
  record({ schedule, args.reason, 0, 0, 1, args.problem })
end
local due = P .. (call('HGET', key, 'local') == '1' and ':due_local' or ':due')
call('ZADD', due, second + args.seconds, args.name)
call('HINCRBY', key, 'seq', 1)
return '{"now":' .. whole(now) .. '}'
