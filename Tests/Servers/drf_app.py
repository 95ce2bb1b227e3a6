"""A Django REST framework service in one file: drf_app.py COUNT makes its database, gunicorn runs `application`."""
import datetime
import os
import sys
from decimal import Decimal

import django
from django.conf import settings

settings.configure(
    SECRET_KEY="made-up", ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF=__name__, USE_TZ=True, TIME_ZONE="America/Chicago",
    INSTALLED_APPS=[
        "django.contrib.auth", "django.contrib.contenttypes", "rest_framework", "rest_framework.authtoken",
        "rest_framework_json_api"],
    MIDDLEWARE=["django.middleware.gzip.GZipMiddleware", "django.middleware.http.ConditionalGetMiddleware"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ["DRF_DATABASE"]}},
    REST_FRAMEWORK={
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
        "DEFAULT_AUTHENTICATION_CLASSES": [], "DEFAULT_PERMISSION_CLASSES": [], "UNAUTHENTICATED_USER": None,
        "DEFAULT_THROTTLE_RATES": {"anon": "2/min"}})
django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.db import connection, models  # noqa: E402
from django.urls import include, path  # noqa: E402
from rest_framework import authentication, pagination, permissions, routers, serializers, throttling, viewsets  # noqa
from rest_framework.authtoken.models import Token  # noqa: E402
from rest_framework_json_api import pagination as api_pagination, renderers, serializers as api_serializers  # noqa


class Book(models.Model):
    title = models.CharField(max_length=200)
    price = models.DecimalField(max_digits=8, decimal_places=2, null=True)
    published = models.DateField(null=True)
    created = models.DateTimeField(db_index=True)
    extra = models.JSONField(default=dict)
    big = models.BigIntegerField()

    class Meta:
        app_label, ordering = "shop", ["id"]


class Numbers(pagination.PageNumberPagination):
    page_size, page_size_query_param, max_page_size = 100, "page_size", 500


class Offsets(pagination.LimitOffsetPagination):
    default_limit, max_limit = 100, 500


class Cursors(pagination.CursorPagination):
    page_size, page_size_query_param, max_page_size, ordering = 100, "page_size", 500, ("created", "id")


class APINumbers(api_pagination.JsonApiPageNumberPagination):
    max_page_size = 500


class APIOffsets(api_pagination.JsonApiLimitOffsetPagination):
    max_limit = 500


class Plain(serializers.ModelSerializer):
    class Meta:
        model, fields = Book, "__all__"


class Typed(api_serializers.ModelSerializer):
    class Meta:
        model, fields = Book, "__all__"


router = routers.DefaultRouter()


def serve(name, paginator, serializer=Plain, **more):
    members = {
        "queryset": Book.objects.all(), "serializer_class": serializer, "pagination_class": paginator, **more}
    router.register(name, type("Books", (viewsets.ModelViewSet,), members), basename=name)


guarded = {"permission_classes": [permissions.IsAuthenticated]}
typed = {"renderer_classes": [renderers.JSONRenderer], "resource_name": "books"}
serve("page", Numbers)
serve("offset", Offsets)
serve("cursor", Cursors)
serve("all", None)
serve("basic", Numbers, authentication_classes=[authentication.BasicAuthentication], **guarded)
serve("token", Numbers, authentication_classes=[authentication.TokenAuthentication], **guarded)
serve("throttled", Numbers, throttle_classes=[throttling.AnonRateThrottle])
serve("jsonapi-page", APINumbers, Typed, **typed)
serve("jsonapi-offset", APIOffsets, Typed, **typed)
urlpatterns = [path("", include(router.urls))]
application = get_wsgi_application()


def make(count):
    call_command("migrate", verbosity=0)
    with connection.schema_editor() as editor:
        editor.create_model(Book)
    start = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
    Book.objects.bulk_create([
        Book(
            id=i, title=f"Book {i} ÄÖ 東京", price=None if i % 11 == 0 else Decimal(i) / 4,
            published=None if i % 13 == 0 else datetime.date(1990, 1, 1) + datetime.timedelta(days=i),
            # Three of one second, so that cursors meet ties.
            created=start + datetime.timedelta(seconds=i // 3), extra={"tags": [f"t{i % 5}"]}, big=2**53 + i)
        for i in range(1, count + 1)])
    Token.objects.create(user=User.objects.create_user("user", password="secret"), key="0123456789abcdef")


if __name__ == "__main__":
    make(int(sys.argv[1]))
