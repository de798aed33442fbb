-- scan: make jobs due that nothing would wake. `awake` has the names of all that are to be looked at some time: if
-- there are as many, none has lost its time. After a clock was set back, also jobs whose pending slots sleep too long.

local lost, asleep = {}, {}
local known = call('ZCARD', P .. ':due') + call('ZCARD', P .. ':due_local')
if call('SCARD', P .. ':awake') ~= known then
  local names = call('ZDIFF', 3, P .. ':awake', P .. ':due', P .. ':due_local')
  for i = 1, math.min(#names, 1000) do
    lost[i] = names[i]
    wake(names[i])
  end
end
if args.latest then
  local flat = call('ZINTER', 2, P .. ':due', P .. ':waiting_jobs', 'WEIGHTS', 1, 0, 'WITHSCORES')
  for i = 1, #flat, 2 do
    if tonumber(flat[i + 1]) > second + args.latest then
      asleep[#asleep + 1] = flat[i]
      wake(flat[i])
    end
  end
end
return '{"lost":' .. cjson.encode(lost) .. ',"woken":' .. (#lost + #asleep) .. '}'
