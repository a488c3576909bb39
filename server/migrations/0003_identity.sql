-- The built-in identity provider. It knows people and sessions, nothing of organizations.
create schema identity;

create table identity.identities (
  id uuid primary key,
  email text not null unique,
  password_hash text,
  name text,
  state text not null default 'active' check (state in ('active', 'inactive')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table identity.sessions (
  id uuid primary key,
  identity_id uuid not null references identity.identities (id) on delete cascade,
  token_hash bytea not null unique,
  logout_token_hash bytea not null unique,
  method text not null,
  ip_address text,
  user_agent text,
  issued_at timestamptz not null default now(),
  authenticated_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index sessions_identity on identity.sessions (identity_id);

create table identity.flows (
  id uuid primary key,
  kind text not null check (kind in ('login', 'registration', 'settings')),
  type text not null check (type in ('browser', 'api')),
  csrf_hash bytea,
  request_url text not null,
  return_to text,
  session_id uuid references identity.sessions (id) on delete cascade,
  issued_at timestamptz not null default now(),
  expires_at timestamptz not null,
  completed_at timestamptz
);

-- One-time codes: the sign-in link printed at the first start, first-run registration.
create table identity.one_time_codes (
  code_hash bytea primary key,
  purpose text not null check (purpose in ('sign_in', 'registration')),
  identity_id uuid references identity.identities (id) on delete cascade,
  email text,
  expires_at timestamptz not null,
  used_at timestamptz
);

-- Attempts per subject (an address, a network address) in a window; shared by all nodes.
create table identity.attempts (
  subject text not null,
  window_start timestamptz not null,
  count int not null default 0,
  primary key (subject, window_start)
);
