/**
 * Characters that are displayed as something else than they are: control and format characters
 * (bidi overrides and isolates, zero-width characters, tags) and other invisible ones. Tab, line
 * feed, carriage return and the selector of coloured emoji are not among them.
 */
export const specialCharacters =
  /(?!\uFE0F|[\t\n\r])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
