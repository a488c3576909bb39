-- The built-in identity provider. It knows people and sessions, nothing of organizations.
create schema identity;

-- An address is unique among the identities of live users and those of nobody yet; a deleted user's identity keeps its
-- address without standing in the way. That needs a look at users, so the writers hold a lock on the address instead of
-- a unique index (identity.store.ts).
create table identity.identities (
  id uuid primary key,
  email text not null,
  -- Whether somebody we trust (the operator, an administrator) vouched for the address.
  email_verified boolean not null,
  password_hash text,
  name text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index identities_email on identity.identities (email);

create table identity.sessions (
  id uuid primary key,
  identity_id uuid not null references identity.identities (id) on delete cascade,
  token_hash bytea not null unique,
  method text not null check (method in ('password', 'link_recovery')),
  ip_address text,
  user_agent text,
  issued_at timestamptz not null default now(),
  authenticated_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index sessions_identity on identity.sessions (identity_id);
create index sessions_expiry on identity.sessions (expires_at);

create table identity.flows (
  id uuid primary key,
  kind text not null check (kind in ('login', 'registration', 'settings')),
  type text not null check (type in ('browser', 'api')),
  -- The browser a flow belongs to, by the hash of its CSRF cookie; null for api flows.
  csrf_hash bytea,
  request_url text not null,
  return_to text,
  refresh boolean not null default false,
  -- Whose settings.
  identity_id uuid references identity.identities (id) on delete cascade,
  -- What the last submission left to show.
  messages jsonb not null default '[]',
  identifier text,
  issued_at timestamptz not null default now(),
  expires_at timestamptz not null,
  completed_at timestamptz
);
create index flows_expiry on identity.flows (expires_at);

-- One-time codes: sign-in links, and registration without an invitation (the first run).
create table identity.one_time_codes (
  code_hash bytea primary key,
  purpose text not null check (purpose in ('sign_in', 'registration')),
  identity_id uuid references identity.identities (id) on delete cascade,
  email text,
  user_id text references users (id) on delete cascade,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index one_time_codes_expiry on identity.one_time_codes (expires_at);

-- Attempts per subject (an address, a network address) in a window; shared by all nodes.
create table identity.attempts (
  subject text not null,
  window_start timestamptz not null,
  count int not null default 0,
  primary key (subject, window_start)
);
create index attempts_window on identity.attempts (window_start);
