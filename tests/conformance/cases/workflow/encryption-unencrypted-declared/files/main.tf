terraform {
  encryption {
    method "unencrypted" "u" {
      keys  = 1
      bogus = var.none
    }
  }
}

resource "terraform_data" "x" {}
