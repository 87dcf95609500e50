resource "terraform_data" "itself" {
  input = terraform_data.itself.id

  lifecycle {
    ignore_changes = [input, absent]
  }
}

resource "terraform_data" "other" {
  input = 1

  lifecycle {
    replace_triggered_by = [terraform_data.itself, terraform_data.gone]
  }
}
