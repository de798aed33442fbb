-- due_names: the schedules of jobs that are due before a second.

local texts = {}
for _, index in ipairs(args.indexes) do
  for _, name in ipairs(call('ZRANGE', P .. ':' .. index, '-inf', args.latest, 'BYSCORE')) do
    for schedule in string.gmatch(call('HGET', job_key(name), 'names') or '', '%S+') do
      texts[#texts + 1] = '"' .. schedule .. '"'
    end
  end
end
return list_of(texts)
