variable "input" {
  type = map(string)
  default = {
    a = "1"
  }
}
resource "terraform_data" "b" {
  for_each = var.input
}

resource "terraform_data" "a0" {
  for_each = var.input
  lifecycle {
    replace_triggered_by = [terraform_data.b["x${1}"]]
  }
}

resource "terraform_data" "a1" {
  for_each = var.input
  lifecycle {
    replace_triggered_by = [terraform_data.b[each.key.x]]
  }
}

resource "terraform_data" "a2" {
  for_each = var.input
  lifecycle {
    replace_triggered_by = [terraform_data.b[(each.key)]]
  }
}

resource "terraform_data" "a3" {
  for_each = var.input
  lifecycle {
    replace_triggered_by = [terraform_data.b[each.key + 1]]
  }
}

resource "terraform_data" "a4" {
  for_each = var.input
  lifecycle {
    replace_triggered_by = [terraform_data.b[*].id]
  }
}

resource "terraform_data" "a5" {
  for_each = var.input
  lifecycle {
    replace_triggered_by = [(terraform_data.b["a"])]
  }
}

resource "terraform_data" "a6" {
  for_each = var.input
  lifecycle {
    replace_triggered_by = ["${terraform_data.b["a"].id}"]
  }
}

resource "terraform_data" "a7" {
  for_each = var.input
  lifecycle {
    replace_triggered_by = [upper(terraform_data.b["a"].id)]
  }
}

resource "terraform_data" "a8" {
  for_each = var.input
  lifecycle {
    replace_triggered_by = [terraform_data.b["a"].output[each.key]]
  }
}

resource "terraform_data" "a9" {
  for_each = var.input
  lifecycle {
    replace_triggered_by = [terraform_data.b["a"].output[1 + 1]]
  }
}

resource "terraform_data" "a10" {
  for_each = var.input
  lifecycle {
    replace_triggered_by = [terraform_data.b["a"].output["x"]]
  }
}
