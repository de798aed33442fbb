-- last_success: the second of the newest success of a schedule.

local first = 0
while true do
  local flat = call('ZRANGE', P .. ':successes:' .. args.job, first, first + 499, 'REV', 'WITHSCORES')
  for i = 1, #flat, 2 do
    if string.match(flat[i], ' (.*)$') == args.schedule then
      return '"' .. flat[i + 1] .. '"'
    end
  end
  if #flat < 1000 then
    return 'null'
  end
  first = first + 500
end
