terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

data "lab_things" "named" {
}

data "lab_echo" "used" {
  value = 1
}

data "lab_region" "alone" {
}

resource "terraform_data" "fails" {
  input = length(data.lab_things.named.names)

  provisioner "local-exec" {
    when    = destroy
    command = "exit 3"
  }
}

resource "terraform_data" "goes" {
  input = data.lab_echo.used.result
}
