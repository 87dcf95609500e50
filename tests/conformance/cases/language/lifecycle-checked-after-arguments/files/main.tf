resource "terraform_data" "a" {
  input = 1

  lifecycle {
    ignore_changes       = [nope]
    replace_triggered_by = [terraform_data.zz]
  }
}

resource "terraform_data" "b" {
  input = each.key

  lifecycle {
    ignore_changes       = [nope]
    replace_triggered_by = [terraform_data.zz]
  }
}

resource "terraform_data" "c" {
  count = true

  lifecycle {
    ignore_changes       = [nope]
    replace_triggered_by = [terraform_data.zz]
  }
}

resource "terraform_data" "d" {
  nope = 1

  lifecycle {
    ignore_changes       = [nope]
    replace_triggered_by = [terraform_data.zz]
  }
}

resource "terraform_data" "e" {
  input = 1

  provisioner "local-exec" {
    command = each.key
  }

  lifecycle {
    ignore_changes       = [nope]
    replace_triggered_by = [terraform_data.zz]
  }
}

resource "terraform_data" "f" {
  input = 1

  lifecycle {
    ignore_changes       = [nope]
    replace_triggered_by = [terraform_data.zz]

    precondition {
      condition     = each.key == "x"
      error_message = "no"
    }
  }
}
