-- report: keep step states and log text of a running attempt; nothing if its token is old (S42).
--
-- The log of a run is a stream whose ids are its numbers; each part has its place in all that its step has printed. Of
-- a step that prints very much, whole parts between its head and its tail go: `printed` has how much it has printed,
-- and from which number on to look for parts that are not needed any longer.

local id = whole(args.run)
local found = call('HMGET', run_key(id), 'state', 'token')
if found[1] ~= 'running' or found[2] ~= args.token then
  return 'false'
end
local log, printed, steps = P .. ':log:' .. id, P .. ':printed:' .. id, P .. ':steps:' .. id

local function trim(step, size)
  local last = size - args.tail
  local from = call('HGET', printed, 'from ' .. step) or '1'
  while true do
    local chunk = call('XRANGE', log, from, '+', 'COUNT', 100)
    for _, entry in ipairs(chunk) do
      local part = entry[2] -- step, name, start, number, stop, number, …
      if part[2] == step and tonumber(part[6]) > last then
        call('HSET', printed, 'from ' .. step, from)
        return
      end
      if part[2] == step and tonumber(part[4]) >= args.head then
        call('XDEL', log, entry[1])
      end
      from = '(' .. entry[1]
    end
    if #chunk < 100 then
      return
    end
  end
end

local sizes = {}
for _, part in ipairs(args.log) do
  local start = tonumber(call('HGET', printed, 'size ' .. part.step) or 0)
  local size, number = start + part.size, call('HINCRBY', printed, 'number', 1)
  call('HSET', printed, 'size ' .. part.step, size)
  call('XADD', log, number .. '-1', 'step', part.step, 'start', start, 'stop', size, 'stream', part.stream,
    'at', part.at, 'text', part.text)
  sizes[part.step] = size
end
for step, size in pairs(sizes) do
  if size > args.head + args.tail then
    trim(step, size)
  end
end
for _, step in ipairs(args.steps) do
  local before = call('HGET', steps, step.name)
  local first = before and string.match(before, '^%d+') or call('HLEN', steps)
  call('HSET', steps, step.name, first .. ' ' .. step.report)
end
return 'true'
