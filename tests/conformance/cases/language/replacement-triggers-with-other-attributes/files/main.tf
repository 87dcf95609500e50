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
    replace_triggered_by = [terraform_data.b[each.val]]
  }
}

resource "terraform_data" "a1" {
  for_each = var.input
  lifecycle {
    replace_triggered_by = [terraform_data.b[each.value]]
  }
}

resource "terraform_data" "a2" {
  for_each = var.input
  lifecycle {
    replace_triggered_by = [terraform_data.b[count.x]]
  }
}

resource "terraform_data" "a3" {
  for_each = var.input
  lifecycle {
    replace_triggered_by = [terraform_data.b[each.keyy]]
  }
}
