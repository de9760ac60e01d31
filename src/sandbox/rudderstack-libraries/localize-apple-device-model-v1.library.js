/** Names of Apple's devices by the identifiers that their SDK reports, such as `iPhone13,1`. */

/** Lines of the identifier's family, followed by numbers and names. */
const table = `
iPhone 1,1 iPhone; 1,2 iPhone 3G; 2,1 iPhone 3GS; 3,1 3,2 3,3 iPhone 4; 4,1 iPhone 4S
iPhone 5,1 5,2 iPhone 5; 5,3 5,4 iPhone 5c; 6,1 6,2 iPhone 5s; 7,1 iPhone 6 Plus; 7,2 iPhone 6
iPhone 8,1 iPhone 6s; 8,2 iPhone 6s Plus; 8,4 iPhone SE; 9,1 9,3 iPhone 7; 9,2 9,4 iPhone 7 Plus
iPhone 10,1 10,4 iPhone 8; 10,2 10,5 iPhone 8 Plus; 10,3 10,6 iPhone X; 11,2 iPhone XS
iPhone 11,4 11,6 iPhone XS Max; 11,8 iPhone XR; 12,1 iPhone 11; 12,3 iPhone 11 Pro
iPhone 12,5 iPhone 11 Pro Max; 12,8 iPhone SE (2nd generation); 13,1 iPhone 12 Mini; 13,2 iPhone 12
iPhone 13,3 iPhone 12 Pro; 13,4 iPhone 12 Pro Max; 14,2 iPhone 13 Pro; 14,3 iPhone 13 Pro Max
iPhone 14,4 iPhone 13 Mini; 14,5 iPhone 13; 14,6 iPhone SE (3rd generation); 14,7 iPhone 14
iPhone 14,8 iPhone 14 Plus; 15,2 iPhone 14 Pro; 15,3 iPhone 14 Pro Max; 15,4 iPhone 15
iPhone 15,5 iPhone 15 Plus; 16,1 iPhone 15 Pro; 16,2 iPhone 15 Pro Max; 17,1 iPhone 16 Pro
iPhone 17,2 iPhone 16 Pro Max; 17,3 iPhone 16; 17,4 iPhone 16 Plus; 17,5 iPhone 16e
iPhone 18,1 iPhone 17 Pro; 18,2 iPhone 17 Pro Max; 18,3 iPhone 17; 18,4 iPhone Air
iPod 1,1 iPod touch; 2,1 iPod touch (2nd generation); 3,1 iPod touch (3rd generation)
iPod 4,1 iPod touch (4th generation); 5,1 iPod touch (5th generation)
iPod 7,1 iPod touch (6th generation); 9,1 iPod touch (7th generation)
iPad 1,1 iPad; 2,1 2,2 2,3 2,4 iPad 2; 2,5 2,6 2,7 iPad mini; 3,1 3,2 3,3 iPad (3rd generation)
iPad 3,4 3,5 3,6 iPad (4th generation); 4,1 4,2 4,3 iPad Air; 4,4 4,5 4,6 iPad mini 2
iPad 4,7 4,8 4,9 iPad mini 3; 5,1 5,2 iPad mini 4; 5,3 5,4 iPad Air 2
iPad 6,3 6,4 iPad Pro (9.7-inch); 6,7 6,8 iPad Pro (12.9-inch); 6,11 6,12 iPad (5th generation)
iPad 7,1 7,2 iPad Pro (12.9-inch) (2nd generation); 7,3 7,4 iPad Pro (10.5-inch)
iPad 7,5 7,6 iPad (6th generation); 7,11 7,12 iPad (7th generation)
iPad 8,1 8,2 8,3 8,4 iPad Pro (11-inch); 8,5 8,6 8,7 8,8 iPad Pro (12.9-inch) (3rd generation)
iPad 8,9 8,10 iPad Pro (11-inch) (2nd generation)
iPad 8,11 8,12 iPad Pro (12.9-inch) (4th generation)
iPad 11,1 11,2 iPad mini (5th generation); 11,3 11,4 iPad Air (3rd generation)
iPad 11,6 11,7 iPad (8th generation); 12,1 12,2 iPad (9th generation)
iPad 13,1 13,2 iPad Air (4th generation); 14,1 14,2 iPad mini (6th generation)
iPad 13,4 13,5 13,6 13,7 iPad Pro (11-inch) (3rd generation)
iPad 13,8 13,9 13,10 13,11 iPad Pro (12.9-inch) (5th generation)
iPad 13,16 13,17 iPad Air (5th generation); 13,18 13,19 iPad (10th generation)
iPad 14,3 14,4 iPad Pro (11-inch) (4th generation)
iPad 14,5 14,6 iPad Pro (12.9-inch) (6th generation)
iPad 14,8 14,9 iPad Air (11-inch) (M2); 14,10 14,11 iPad Air (13-inch) (M2)
iPad 16,1 16,2 iPad mini (A17 Pro); 16,3 16,4 iPad Pro (11-inch) (M4)
iPad 16,5 16,6 iPad Pro (13-inch) (M4)
AppleTV 2,1 Apple TV (2nd generation); 3,1 3,2 Apple TV (3rd generation)
AppleTV 5,3 Apple TV HD; 6,2 Apple TV 4K; 11,1 Apple TV 4K (2nd generation)
AppleTV 14,1 Apple TV 4K (3rd generation)
`;

const names = new Map();
for (const line of table.trim().split("\n")) {
  const [family] = line.split(" ", 1);
  for (const entry of line.slice(family.length).split(";")) {
    const [, numbers, name] = /^ *((?:\d+,\d+ )+)(.+)$/.exec(entry);
    for (const number of numbers.trim().split(" ")) names.set(family + number, name);
  }
}

/**
 * Returns the name of the device that an event was sent from, by its `context.device.model`;
 * undefined when the model is no identifier of Apple's.
 */
export function getLocalizedDeviceModel(event) {
  const model = event?.context?.device?.model;
  return typeof model === "string" ? names.get(model.replaceAll(" ", "")) : undefined;
}
