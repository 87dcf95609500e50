terraform {
  required_providers {
    aws = {
      source = "registry.terraform.io/hashicorp/aws"
    }
  }
}

variable "name" { type = string }
variable "cidr" { type = string }
variable "secret" {
  type      = string
  sensitive = true
}

# Read while planning.
data "aws_caller_identity" "here" {}
data "aws_region" "here" {}

resource "aws_vpc" "net" {
  cidr_block = var.cidr
  tags       = { Name = "net-${var.name}" }
}

resource "aws_subnet" "part" {
  count      = 2
  vpc_id     = aws_vpc.net.id
  cidr_block = cidrsubnet(aws_vpc.net.cidr_block, 8, count.index)
  tags       = { Name = "part-${var.name}-${count.index}" }
}

# Sets of blocks that are attributes too, some from a dynamic block, and timeouts.
resource "aws_security_group" "web" {
  name        = "web-${data.aws_region.here.name}"
  description = "who may come in"
  vpc_id      = aws_vpc.net.id

  dynamic "ingress" {
    for_each = { 80 = ["10.0.0.0/8"], 443 = ["0.0.0.0/0"] }
    content {
      from_port   = ingress.key
      to_port     = ingress.key
      protocol    = "tcp"
      cidr_blocks = ingress.value
    }
  }
  egress {
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }

  timeouts {
    create = "5m"
  }
  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_security_group" "inner" {
  name   = "inner-${var.name}"
  vpc_id = aws_vpc.net.id
}

# Of the newer plugin framework, where the resources around it are of the older SDK.
resource "aws_vpc_security_group_ingress_rule" "from_web" {
  security_group_id            = aws_security_group.inner.id
  referenced_security_group_id = aws_security_group.web.id
  from_port                    = 5432
  to_port                      = 5432
  ip_protocol                  = "tcp"
}

resource "aws_network_interface" "front" {
  subnet_id       = aws_subnet.part[0].id
  security_groups = [aws_security_group.web.id]
}

resource "aws_s3_bucket" "files" {
  bucket = "files-${var.name}"
}

resource "aws_s3_bucket_versioning" "files" {
  bucket = aws_s3_bucket.files.id
  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_object" "greeting" {
  bucket  = aws_s3_bucket.files.bucket
  key     = "greeting"
  content = "from ${data.aws_caller_identity.here.account_id}"
}

# Read at apply: what it depends on is not there before.
data "aws_iam_policy_document" "files" {
  statement {
    actions   = ["s3:GetObject"]
    resources = ["${aws_s3_bucket.files.arn}/*"]
  }
}

resource "aws_iam_role" "worker" {
  name = "worker-${var.name}"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "ec2.amazonaws.com" }
    }]
  })
}

resource "aws_iam_role_policy" "files" {
  name   = "files"
  role   = aws_iam_role.worker.id
  policy = data.aws_iam_policy_document.files.json
}

resource "aws_dynamodb_table" "jobs" {
  name         = "jobs-${var.name}"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "id"
  range_key    = "at"

  attribute {
    name = "id"
    type = "S"
  }
  attribute {
    name = "at"
    type = "N"
  }
  attribute {
    name = "owner"
    type = "S"
  }
  global_secondary_index {
    name            = "by-owner"
    hash_key        = "owner"
    projection_type = "ALL"
  }
  timeouts {
    create = "4m"
    delete = "4m"
  }
}

resource "aws_ssm_parameter" "secret" {
  name  = "/${var.name}/secret"
  type  = "SecureString"
  value = var.secret
}

resource "aws_cloudwatch_log_group" "log" {
  name              = "log-${var.name}"
  retention_in_days = 7
}

resource "aws_sns_topic" "news" {
  name_prefix = "news-${var.name}-"
}

output "address" {
  value = one(aws_network_interface.front.private_ips)
}
output "bucket" {
  value = aws_s3_bucket.files.arn
}
output "account" {
  value = data.aws_caller_identity.here.account_id
}
