-- answer: keep the answer to a claim; the first answer stays.

local key = P .. ':claim:' .. args.key
if call('EXISTS', key) == 1 then
  call('HSETNX', key, 'answer', args.answer)
end
return '{}'
