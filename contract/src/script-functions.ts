// What scripts find: data only, because the process that runs a script and the packed command load it, and nothing more.

/** The kinds of records that scripts make and change, in the order of the script constant `TYPES`. */
export const scriptKinds = ['user', 'org', 'device', 'integration', 'zone', 'entity'] as const;

type Signatures = Readonly<Record<string, readonly (readonly ('string' | 'map' | 'bool' | 'number')[])[]>>;

/** What the service does for a script: the lists of arguments that each function takes. */
export const serviceFunctions: Signatures = {
  create: [['string', 'map']],
  get: [
    ['string', 'string'],
    ['string', 'string', 'map'],
  ],
  update: [['string', 'string', 'map']],
  delete: [['string', 'string']],
  purge: [['string', 'string']],
  list: [['string'], ['string', 'map']],
  toggle_entity: [['string']],
  entity_action: [
    ['string', 'string'],
    ['string', 'string', 'map'],
  ],
  has_image: [['string', 'string']],
  upload_image: [['string', 'string', 'string']],
};

/** What needs nobody's rights is done beside the script. */
export const localFunctions: Signatures = {
  assert: [['bool'], ['bool', 'string']],
  sleep: [['number']],
  sleep_ms: [['number']],
  ulid: [[]],
};
