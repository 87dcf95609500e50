terraform {
  required_providers {
    lab = {
      source  = "weft.test/lab/lab"
      version = "1.0.0"
    }
  }
}

ephemeral "lab_token" "t" { name = "t" }
output "t" {
  value = ephemeral.lab_token.t.token
  ephemeral = true
}
