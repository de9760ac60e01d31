/**
 * Matches invisible characters and characters that change how others are shown, such as control
 * characters, bidi overrides and zero-width characters. Does not match spaces, tab, line feed,
 * carriage return or the variation selector of coloured emoji.
 */
export const specialCharacters =
  /(?!\uFE0F|[\t\n\r])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
