/**
 * Matches characters that are invisible or change how other characters are shown: control and
 * format characters (bidi overrides and isolates, zero-width characters, tags) and others without a
 * glyph. Does not match tab, line feed, carriage return or the variation selector of coloured
 * emoji.
 */
export const specialCharacters =
  /(?!\uFE0F|[\t\n\r])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
