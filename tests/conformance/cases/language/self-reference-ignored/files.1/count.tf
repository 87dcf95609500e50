resource "terraform_data" "counted" {
  count = local.none
  input = 1 + "a"

  lifecycle {
    replace_triggered_by = [terraform_data.gone]
  }
}

resource "terraform_data" "keyed" {
  for_each = toset([var.none])
  input    = each.absent

  lifecycle {
    ignore_changes = [nothing]
  }
}
