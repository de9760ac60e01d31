/**
 * Characters that a text shows as something else than it is: control and format characters (bidi
 * overrides and isolates, zero-width characters, tags) and others that are drawn as nothing. Tab,
 * line feed, carriage return and the selector of coloured emoji are ordinary.
 */
export const specialCharacters =
  /(?!\uFE0F|[\t\n\r])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
