-- enqueue: queue runs that code or people ask for, all or none. A key that is taken gives the run that has it (S48);
-- a run by hand, or of a step, takes the lowest free lane of its job (S30). Nothing is written before all of that is known.

local answers, new, taken, keys = {}, {}, {}, {}
for place, run in ipairs(args.runs) do
  if call('HGET', job_key(run.job), 'live') ~= '1' then
    return cjson.encode({ gone = run.job })
  end
  local named = run.key and run.job .. ' ' .. run.key
  local known = named and (keys[named] or holder(run.job, run.key))
  if known then
    answers[place] = { known, false }
  else
    if run.by_hand then
      run.lane, run.by_hand = free_lane(run.job, taken), nil
      if not run.lane then
        return cjson.encode({ active = run.job, holders = holders_of(run.job) })
      end
      taken[run.job .. ' ' .. run.lane] = true
    end
    local id = run.id or whole(tonumber(call('GET', P .. ':number') or 0) + #new + 1)
    answers[place], new[#new + 1] = { id, true }, { id, run }
    if named then
      keys[named] = id
    end
  end
end
local given = 0
for _, each in ipairs(new) do
  local id, run = each[1], each[2]
  if run.id then
    run.id = nil
  else
    given = given + 1
  end
  insert(id, run)
  if run.lane then
    call('HINCRBY', job_key(run.job), 'seq', 1)
  end
end
if #new > 0 then
  call('INCRBY', P .. ':number', given)
  tell()
end
return cjson.encode({ runs = answers, now = whole(now) })
