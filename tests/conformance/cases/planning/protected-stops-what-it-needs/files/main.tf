resource "terraform_data" "base" {
  lifecycle {
    prevent_destroy = true
  }
}

resource "terraform_data" "middle" {
  input = terraform_data.base.id
}

resource "terraform_data" "top" {
  input = terraform_data.middle.id

  lifecycle {
    prevent_destroy = true
  }
}

resource "terraform_data" "beside" {
  input = terraform_data.middle.id
}
