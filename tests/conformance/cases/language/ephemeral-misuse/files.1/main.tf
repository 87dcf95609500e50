terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

ephemeral "lab_token" "t" {
  name = "n"
  lifecycle {
    prevent_destroy = true
  }
}
ephemeral "lab_token" "u" {
  provisioner "local-exec" {
    command = "x"
  }
}
ephemeral "lab_nope" "v" {}
ephemeral "lab_token" "w" {
  name = ephemeral.lab_token.zz.token
  depends_on = [ephemeral.lab_token.t]
}
check "c" {
  assert {
    condition = ephemeral.lab_token.t.token != ""
    error_message = "tok"
  }
}
