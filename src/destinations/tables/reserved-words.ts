/** Words, in lower case, that PostgreSQL or RudderStack's PostgreSQL warehouse reserves. */
export const reservedWords: ReadonlySet<string> = new Set(
  `all analyse analyze and any array as asc asymmetric authorization between binary both case cast
  check collate column constraint create cross current_date current_role current_time
  current_timestamp current_user default deferrable desc distinct do else end except false for
  foreign freeze from full grant group having ilike in initially inner intersect into is isnull
  join leading left like limit localtime localtimestamp natural new not notnull null off offset old
  on only or order outer overlaps placing primary references right select session_user similar some
  symmetric table then to trailing true union unique user using verbose when where`.split(/\s+/),
);
