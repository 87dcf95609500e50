variable "more" {
  type    = bool
  default = true
}

variable "text" {
  type    = string
  default = "a"
}

resource "terraform_data" "base" {
  input = var.text
}

resource "terraform_data" "user" {
  input = terraform_data.base.id

  lifecycle {
    create_before_destroy = true
  }
}

resource "terraform_data" "idle" {
}

resource "terraform_data" "nobody" {
  count = 0
  input = terraform_data.idle.id

  lifecycle {
    create_before_destroy = true
  }
}
