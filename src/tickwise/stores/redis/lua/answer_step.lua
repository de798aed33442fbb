-- answer_step: keep what a step of a run waits for people to say (S75); the first of its name stays.

local id = whole(args.run)
local state, steps = call('HGET', run_key(id), 'state'), P .. ':steps:' .. id
if state ~= 'queued' and state ~= 'running' then
  return 'false'
end
local is_first = call('HSETNX', steps, args.name, call('HLEN', steps) .. ' ' .. args.report) == 1
return is_first and 'true' or 'false'
