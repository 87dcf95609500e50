resource "terraform_data" "t" {
  input = "x"
}
terraform {
  encryption {
    key_provider "pbkdf2" "one" {
      passphrase = "correct horse battery"
    }
    method "aes_gcm" "m" {
      keys = key_provider.pbkdf2.one
    }
    method "unencrypted" "migrate" {
    }
    state {
      method = method.aes_gcm.m
      fallback {
        method = method.unencrypted.migrate
      }
    }
  }
}
