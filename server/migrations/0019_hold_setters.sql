-- A hold opens with the rights of whoever set it, as they are when it opens. created_by is the person; key_id the key
-- they came with, if any. confirmed says that a confirmation was spent on setting it.
alter table door_holds
  add column key_id text,
  add column confirmed boolean not null default false;
