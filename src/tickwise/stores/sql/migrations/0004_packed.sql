-- Room on its own page spares a row of the agenda nothing: when it moves, all of its index entries are new anyway. And a
-- page that is to have room is swept at every look at it, for the one row that moved since the last.
ALTER TABLE tickwise_agenda PACKED;
