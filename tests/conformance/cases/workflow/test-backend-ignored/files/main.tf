terraform {
  backend "local" {
    path = "state/x.tfstate"
  }
  encryption {
    key_provider "pbkdf2" "k" {
      passphrase = "correct horse battery"
    }
    method "aes_gcm" "m" {
      keys = key_provider.pbkdf2.k
    }
    state {
      method   = method.aes_gcm.m
      enforced = true
    }
  }
}
resource "terraform_data" "a" { input = 1 }
